"""The meal planner: an agent, its memories, and an app that asks it twelve times."""
