/** One HTTP request to the API server. */
export interface HttpRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** The path with its query (`/api/v1/pods?watch=true`), below the server's own path prefix. */
  readonly path: string;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array;
  /** The answer never ends by itself (a watch): it fails with `ConnectionReplaced` when the client certificate changes. */
  readonly stream?: boolean;
}

/** What came back. The body must be read to its end, left by `return`, or aborted, or its connection is lost. */
export interface HttpResponse {
  readonly status: number;
  /** Names in lower case; values of one name that came several times are joined by `, `. */
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly body: AsyncIterable<Uint8Array>;
}

/**
 * How requests reach an API server: whoever implements it knows the server's address, its CA and the credentials.
 * It neither retries nor times out. Once `signal` is aborted the request and its body fail with the signal's reason.
 */
export interface HttpTransport {
  request(request: HttpRequest, signal?: AbortSignal): Promise<HttpResponse>;
}
