// This module is loaded on demand. The exports are named, because bundlers give the dynamic import of a CommonJS module
// no named exports.
export { Client, connectivityState, credentials, Metadata, Server, ServerCredentials } from '@grpc/grpc-js';
