"""An example body for each POST route and an example link for each GET route; the tests send them."""

from lanescope.app.features import load_features

BODIES = {route: body for feature in load_features().values() for route, body in feature.bodies.items()}
EXAMPLES = {route: link for feature in load_features().values() for route, link in feature.examples.items()} | {
    "/metrics": "/metrics",
    "/healthz": "/healthz",
    "/readyz": "/readyz",
}
