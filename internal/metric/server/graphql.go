package server

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
)

// GraphQL asks a server in GraphQL and returns the data that it answers with.
func GraphQL(ctx context.Context, q Question, query string, variables map[string]any) (json.RawMessage, error) {
	body, err := json.Marshal(map[string]any{"query": query, "variables": variables})
	if err != nil {
		return nil, err
	}
	q.Method, q.Body = http.MethodPost, body
	q.Headers = append([]v1alpha1.WebMetricHeader{{Key: "Content-Type", Value: "application/json"}}, q.Headers...)
	answer, err := Ask(ctx, q)
	if err != nil {
		return nil, err
	}
	return Data(answer)
}

// Data is the data of an answer in GraphQL.
func Data(answer Answer) (json.RawMessage, error) {
	var out struct {
		Data   json.RawMessage `json:"data"`
		Errors []struct {
			Message string `json:"message"`
		} `json:"errors"`
	}
	if !answer.OK() {
		return nil, answer.Refusal()
	}
	if err := answer.Decode(&out); err != nil {
		return nil, err
	}
	if len(out.Errors) > 0 {
		return nil, errors.New("graphql: " + out.Errors[0].Message)
	}
	return out.Data, nil
}
