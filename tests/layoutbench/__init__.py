"""LayoutBench: 300 questions about tensor-core layouts with executable truth, and a runner that asks any command."""
