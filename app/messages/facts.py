"""Facts about messages of ptxas, the driver and CuTe."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from lanescope.app.kit.fact import Description, copy_fact, fact
from lanescope.app.kit.question import declare_question, text_field
from lanescope.messages import MessageReading, MessageRow, recognise_messages
from lanescope.messages.recognise import LONGEST
from lanescope.messages.row import DRIVER, PTXAS, RELEASES
from lanescope.ptx import hardware_runs

PAGE = "/messages"
NUMBER_NOTICE = "The same number means different messages in different releases of ptxas; the text decides."
EXAMPLE = (
    "ptxas info    : (C7514) Potential Performance Loss: wgmma.mma_async instructions are serialized due to non wgmma"
    " instructions reading accumulator registers of a wgmma between start and end of the pipeline stage in the function"
    " 'kernel'"
)


@declare_question
class MessageQuestion:
    """A text that may contain a tool's message."""

    text: str = text_field(
        "",
        "Message",
        "What the tool printed, with everything around it; all messages are listed where it is empty.",
        most=LONGEST,
        rows=5,
        wide=True,
        examples=(EXAMPLE,),
        placeholder='ptxas info : (C7510) … / error: static assertion failed with "…"',
    )


@fact
class MessageNumber:
    """The number that a release of ptxas gives a message."""

    release: str
    code: str


@fact
class MessageLink:
    """A page that helps."""

    title: str
    page: str


@fact
class MessageName:
    """A message, and its page."""

    slug: str
    title: str
    page: str
    source: Annotated[str, Description("ptxas, driver or cute.")]


@fact
class MessageFact(MessageName):
    """A message: its reason, the change, and the smallest programs."""

    texts: Annotated[tuple[str, ...], Description("As the tool prints it; a name in braces represents a value.")]
    codes: tuple[MessageNumber, ...]
    reason: str
    change: str
    wrong: Annotated[str, Description("The smallest program that raises it; empty if none of this project does.")]
    right: Annotated[str, Description("The same program, changed: it is silent.")]
    place: Annotated[str, Description("The function of the driver, or the header of the assertion.")]
    proof: Annotated[str, Description("Which tool showed that the programs do this.")]
    rule: Annotated[str, Description("The code by which lanescope refuses the same; empty for none.")]
    links: tuple[MessageLink, ...]


@fact
class FoundMessageFact:
    """A message in the text."""

    message: MessageFact
    code: Annotated[str, Description("The number in front of it; empty for none.")]
    values: Annotated[Mapping[str, str], Description("What the tool printed where the text has a name in braces.")]


@fact
class MessageAnswer:
    """The messages of a text; if none is known, the most similar ones."""

    count: int
    found: tuple[FoundMessageFact, ...]
    numbers: Annotated[
        tuple[MessageName, ...],
        Description("Of a number without its text: the messages that have it in some release."),
    ]
    nearest: Annotated[
        tuple[MessageName, ...], Description("Where none is found: messages that share most words with the text.")
    ]
    listed: Annotated[tuple[MessageName, ...], Description("Every message, where the text is empty.")]


def link_message(slug: str) -> str:
    """Return the address of a message's page."""
    return f"{PAGE}/{slug}"


def answer_message(question: MessageQuestion) -> MessageAnswer:
    """Return the messages of ptxas, cuTensorMapEncode and CuTe in a pasted text: the reason, the change, and the
    smallest program that raises each.
    """
    from lanescope.messages import ROWS

    reading = recognise_messages(question.text) if question.text.strip() else MessageReading()
    return MessageAnswer(
        count=len(reading.found),
        found=tuple(
            FoundMessageFact(message=build_message(message.row), code=message.code, values=dict(message.values))
            for message in reading.found
        ),
        numbers=tuple(name_message(row) for row in reading.numbers),
        nearest=tuple(name_message(row) for row in reading.nearest),
        listed=() if question.text.strip() else tuple(name_message(row) for row in ROWS),
    )


def name_message(row: MessageRow) -> MessageName:
    """Return a message's title and page."""
    return copy_fact(MessageName, row, page=link_message(row.slug))


def build_message(row: MessageRow) -> MessageFact:
    """Return everything about a message."""
    return copy_fact(
        MessageFact,
        row,
        page=link_message(row.slug),
        codes=tuple(MessageNumber(release=release, code=code) for release, code in row.codes),
        proof=describe_proof(row),
        links=tuple(MessageLink(title=title, page=page) for title, page in row.links),
    )


def describe_proof(row: MessageRow) -> str:
    """Return a sentence with the tool that was run on the two programs, of which only the first raises the message."""
    if row.source == DRIVER:
        return _describe_driver_runs(row)
    if not row.raised:
        return "No program of this project raises this message. Its text was found in the ptxas binary."
    if row.source == PTXAS:
        releases = row.release or " and ".join(RELEASES)
        return f"The tests assemble both programs with ptxas {releases}: the first raises the message, the second none."
    return (
        f"The tests compile both programs with the headers of {row.release}: the first fails so, the second compiles."
    )


def _describe_driver_runs(row: MessageRow) -> str:
    """Return a sentence with the drivers that returned the expected status for the calls of a row."""
    if not row.raised:
        return ""
    counts_by_driver = [
        (_name_driver(data["meta"], "maps"), data["maps"][row.slug])
        for data in hardware_runs.load_evidence()
        if row.slug in data.get("maps", {})
    ]
    sentences = [
        f"{driver} {'refuses the first call and takes the second' if _agrees(counts) else 'answers otherwise'}."
        for driver, counts in counts_by_driver
    ]
    if not sentences:
        sentences.append("These two calls have not been tried with a driver yet.")
    return " ".join([*sentences, *_describe_random_maps(row, has_calls=bool(counts_by_driver))])


def _name_driver(meta: Mapping[str, Any], part: str) -> str:
    """Return a device, its driver and the date of a part of its evidence as text."""
    date = meta.get("dates", {}).get(part, meta["date"])
    return f"The driver {meta['driver']} of an {hardware_runs.shorten_device_name(meta['device'])} ({date})"


def _agrees(counts: Mapping[str, int]) -> bool:
    return counts["ran"] == counts["agreed"]


_TRIED = {  # slug of a rule → the random maps of the part "boxes" that are about it
    "tensor-map-box": "box",
    "tensor-map-inner-box": "inner box",
    "tensor-map-stride": "stride",
    "tensor-map-stride-range": "stride",
    "tensor-map-dim": "dimension",
    "tensor-map-element-stride": "element strides",
    "tensor-map-box-bytes": "bytes of the box",
    "tensor-map-rank": "rank",
}


def _describe_random_maps(row: MessageRow, *, has_calls: bool) -> list[str]:
    """Return sentences with the drivers that confirmed a rule on random maps. has_calls: whether its own calls were
    run.
    """
    key = f"rule: {_TRIED.get(row.slug, '')}"
    tried = [
        (data["meta"], data["boxes"][key]) for data in hardware_runs.load_evidence() if key in data.get("boxes", {})
    ]
    sentences = [
        f"{_name_driver(meta, 'boxes')} answered {counts['ran']} random maps around this rule as it says."
        for meta, counts in tried
        if _agrees(counts)
    ]
    return sentences or ([] if has_calls else ["The rule is that of CUDA's documentation and of lanescope's checks."])
