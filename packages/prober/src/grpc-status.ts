/** The names of gRPC's codes, by number. */
const CODES = [
  'OK',
  'Canceled',
  'Unknown',
  'InvalidArgument',
  'DeadlineExceeded',
  'NotFound',
  'AlreadyExists',
  'PermissionDenied',
  'ResourceExhausted',
  'FailedPrecondition',
  'Aborted',
  'OutOfRange',
  'Unimplemented',
  'Internal',
  'Unavailable',
  'DataLoss',
  'Unauthenticated',
];
/** What gRPC makes of a server that answers with plain HTTP. */
const OF_HTTP: Readonly<Record<number, string>> = {
  400: 'Internal',
  401: 'Unauthenticated',
  403: 'PermissionDenied',
  404: 'Unimplemented',
  429: 'Unavailable',
  502: 'Unavailable',
  503: 'Unavailable',
  504: 'Unavailable',
};

/** How a call ended: a code by its name in Go, and the server's words. */
export interface GrpcStatus {
  readonly code: string;
  readonly message: string;
}

/** The status of a call, from the headers and trailers that it ended with. */
export function grpcStatusOf(headers: Readonly<Record<string, unknown>>): GrpcStatus {
  const http = Number(headers[':status'] ?? 200);
  const code = headers['grpc-status'];
  if (code === undefined && http !== 200) {
    return { code: OF_HTTP[http] ?? 'Unknown', message: `unexpected HTTP status code received from server: ${http}` };
  }
  if (code === undefined) return { code: 'Internal', message: 'server closed the stream without sending trailers' };
  return {
    code: CODES[Number(code)] ?? `Code(${String(code)})`,
    message: decoded(String(headers['grpc-message'] ?? '')),
  };
}

function decoded(message: string): string {
  try {
    return decodeURIComponent(message);
  } catch {
    return message;
  }
}
