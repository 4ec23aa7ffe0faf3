/** An HTTP request. */
export interface HttpRequest {
  readonly method: string;
  /** Path with query: `/api/v1/pods?watch=true`. */
  readonly path: string;
  /** Headers by name; the names are in lower case. */
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly body?: string | Uint8Array;
}

/** An HTTP response. The caller must read the body to its end, leave it by `return`, or abort the request. */
export interface HttpResponse {
  readonly status: number;
  /** Headers by name; the names are in lower case. */
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly body: AsyncIterable<Uint8Array>;
}

/**
 * Sends requests to an API server. A client's own port with this shape is compatible. When `signal` is aborted, the
 * request and its body fail with the signal's reason.
 */
export interface HttpTransport {
  request(request: HttpRequest, signal?: AbortSignal): Promise<HttpResponse>;
}
