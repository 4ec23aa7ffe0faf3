/**
 * Imports the package pino. The type of its function `pino` is left open here, so that programs without pino can be
 * type-checked.
 */
export type ImportPino = () => Promise<{ readonly pino: unknown }>;
