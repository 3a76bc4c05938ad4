-- What was spent on a day is summed at each start and for operators.

CREATE INDEX usage_by_time ON usage (at);
