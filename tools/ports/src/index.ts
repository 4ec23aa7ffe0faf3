export { freePorts } from './free-ports.ts';
