/**
 * `node:http`, without what an `import` of it costs: that reads everything that it exports, among it `WebSocket`, for which Node.js loads
 * all of undici (5.5 MB of a process's memory, with Node.js 24).
 */
export const http: typeof import('node:http') = process.getBuiltinModule('node:http');
