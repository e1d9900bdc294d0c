"""Who is asking: a bearer token for each user. Put your own identity provider here."""

from langgraph_sdk import Auth

TOKENS = {"token-of-ana": "ana", "token-of-ben": "ben"}

auth = Auth()


@auth.authenticate
async def user(authorization: str | None) -> Auth.types.MinimalUserDict:
    """Return the user whose token it is."""
    scheme, _, token = (authorization or "").partition(" ")
    if scheme.lower() != "bearer" or token not in TOKENS:
        raise Auth.exceptions.HTTPException(status_code=401, detail="unknown token")
    return {"identity": TOKENS[token]}
