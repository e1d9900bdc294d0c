"""The PostgreSQL driver and its pool, or one line that says how to install them."""

try:
    import psycopg as psycopg
    import psycopg_pool as psycopg_pool
except ImportError:
    raise ImportError(
        "a PostgreSQL ledger needs the driver psycopg and its pool: "
        'pip install "langchain-memview[postgres]"'
    ) from None
