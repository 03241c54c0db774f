"""What all features share: questions, request bodies, settings, limits, pictures, links, and the readers of request
fields.
"""
