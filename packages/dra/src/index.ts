export { DraError, type DraErrorCode } from './errors.ts';
