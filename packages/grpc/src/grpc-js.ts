// Loaded on demand. Named, because bundlers give the dynamic import of a CommonJS module no named exports.
export { Client, connectivityState, credentials, Metadata, Server, ServerCredentials } from '@grpc/grpc-js';
