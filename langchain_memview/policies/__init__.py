"""Policy files."""
