"""Who answers the questions of a session: this process, or Spark.

In: data as a user gives it, and a planned query. Out: the answer, a Result or a DataFrame.
Planner and runners of queries meet here and in the session, and nowhere else.
"""
