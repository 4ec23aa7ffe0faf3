export { type FakeClaim, type FakeDraCall, FakeDraPlugin, type FakeDraPluginOptions } from './fake-dra-plugin.ts';
