/** One HTTP request. */
export interface HttpRequest {
  readonly method: string;
  /** The path with its query: `/api/v1/pods?watch=true`. */
  readonly path: string;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly body?: string | Uint8Array;
}

/** What came back; the body must be read to its end, left by `return`, or aborted. */
export interface HttpResponse {
  readonly status: number;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly body: AsyncIterable<Uint8Array>;
}

/**
 * How requests reach an API server; a client's own port of this shape fits. Once `signal` is aborted the request and its
 * body fail with the signal's reason.
 */
export interface HttpTransport {
  request(request: HttpRequest, signal?: AbortSignal): Promise<HttpResponse>;
}
