/** Names of gRPC's status codes, by number. */
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
/** gRPC codes for a server that responds in plain HTTP. */
const CODE_BY_HTTP_STATUS: Readonly<Record<number, string>> = {
  400: 'Internal',
  401: 'Unauthenticated',
  403: 'PermissionDenied',
  404: 'Unimplemented',
  429: 'Unavailable',
  502: 'Unavailable',
  503: 'Unavailable',
  504: 'Unavailable',
};

/** Status of a call: the name of the code in Go, and the server's message. */
export interface GrpcStatus {
  readonly code: string;
  readonly message: string;
}

/** Returns the status of a call from its final headers and trailers. */
export function grpcStatusOf(headers: Readonly<Record<string, unknown>>): GrpcStatus {
  const http = Number(headers[':status'] ?? 200);
  const code = headers['grpc-status'];
  if (code === undefined && http !== 200) {
    return {
      code: CODE_BY_HTTP_STATUS[http] ?? 'Unknown',
      message: `unexpected HTTP status code received from server: ${http}`,
    };
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
