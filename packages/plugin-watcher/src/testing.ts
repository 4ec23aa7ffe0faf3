export { type FoundPlugin, foundPlugin } from './found-plugin.ts';
