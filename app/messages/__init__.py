"""Messages of ptxas, the driver and CuTe: their pages, the route and the command."""
