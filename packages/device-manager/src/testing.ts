export { FakeDevicePlugin, type FakeDevicePluginOptions } from './fake-device-plugin.ts';
