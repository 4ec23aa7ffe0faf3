// Loaded on demand. Named, because bundlers give the dynamic import of a CommonJS module no named exports.
export { SocksClient } from 'socks';
