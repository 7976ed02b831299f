"""The store on Apache Cassandra: any number of front-ends over one keyspace."""
