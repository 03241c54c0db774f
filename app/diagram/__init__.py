"""Pictures for documents in every form, their builder and the gallery."""
