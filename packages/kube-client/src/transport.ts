/** One HTTP request to the API server. */
export interface HttpRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** The path with its query (`/api/v1/pods?watch=true`), below the server's path prefix. */
  readonly path: string;
  /** Header names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array;
  /**
   * Whether the response has no end of its own (a watch). Such a response fails with `ConnectionReplaced` when the
   * client certificate changes.
   */
  readonly stream?: boolean;
}

/**
 * A response. The caller must read the body to its end, end its iterator by `return`, or abort it; otherwise its
 * connection leaks.
 */
export interface HttpResponse {
  readonly status: number;
  /** Header names in lower case. Repeated values of a header are joined by `, `. */
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly body: AsyncIterable<Uint8Array>;
}

/**
 * Sends requests to an API server. The implementation knows the server's address, CA and credentials. `request` neither
 * retries nor times out. Once `signal` is aborted, the request and its body fail with the signal's reason.
 */
export interface HttpTransport {
  request(request: HttpRequest, signal?: AbortSignal): Promise<HttpResponse>;
}
