"""What a join that sheds may hold and do."""
