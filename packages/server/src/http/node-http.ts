/**
 * The module `node:http`, loaded without an `import` statement. An `import` reads all exports, among them `WebSocket`,
 * for which Node.js loads all of undici (5.5 MB of memory with Node.js 24).
 */
export const http: typeof import('node:http') = process.getBuiltinModule('node:http');
