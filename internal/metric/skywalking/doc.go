// Package skywalking measures by a query in GraphQL to Apache SkyWalking. The result is the data of the answer.
package skywalking
