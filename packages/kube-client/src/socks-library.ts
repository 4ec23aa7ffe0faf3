// A module of its own, so that `socks` is loaded on demand. The export is named here, because bundlers give the dynamic
// import of a CommonJS module no named exports.
export { SocksClient } from 'socks';
