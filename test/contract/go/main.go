// Uses the client that oapi-codegen generates from the OpenAPI document: go run . URL API_KEY
package main

import (
	"context"
	"encoding/json"
	"net/http"
	"os"
)

func main() {
	url, apiKey := os.Args[1], os.Args[2]
	ctx := context.Background()
	withKey := func(_ context.Context, request *http.Request) error {
		request.Header.Set("Authorization", "Bearer "+apiKey)
		return nil
	}
	client := must(NewClientWithResponses(url, WithRequestEditorFn(withKey)))

	status := must(client.GetStatusWithResponse(ctx))
	page, webp := "https://example.com/", CaptureRequestFormat("webp")
	params := &CreateCaptureParams{}
	created := must(client.CreateCaptureWithResponse(ctx, params, CaptureRequest{Url: &page, Format: &webp}))
	result := must(created.JSON200.Data.AsCaptureResult())
	read := must(client.GetCaptureWithResponse(ctx, result.Uuid.String()))
	same := must(read.JSON200.Data.AsCaptureResult())
	nowhere := "nowhere"
	refused := must(client.CreateCaptureWithResponse(ctx, params, CaptureRequest{Url: &nowhere}))

	seen := []any{status.JSON200 != nil || status.JSON503 != nil, same.Metadata.Format, refused.JSON400.Error.Code}
	must(0, json.NewEncoder(os.Stdout).Encode(seen))
}

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}
