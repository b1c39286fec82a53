// Package elasticsearch measures with ES|QL queries and search requests to Elasticsearch and OpenSearch. What must not be here: how conditions judge.
package elasticsearch
