// What only pages without scripts need hides: buttons that send a form which a script follows.
document.documentElement.classList.add("scripted");
