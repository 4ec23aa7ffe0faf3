// From packages/dbus/README.md, which explains the program.
import { connect } from 'node:net';
import { DbusConnection, DbusError } from '@node-agent/dbus';

const login = { path: '/org/freedesktop/login1', interface: 'org.freedesktop.login1.Manager' };
const bus = new DbusConnection(
  {
    stream: connect('/run/dbus/system_bus_socket'),
    signals: [{ ...login, member: 'PrepareForShutdown', onSignal: ({ body }) => console.log('shutting down', body[0]) }],
  },
  { userId: process.getuid?.() ?? 0 },
);
try {
  await bus.open(true);
  const name = 'org.freedesktop.DBus';
  const { body } = await bus.call({ destination: name, path: '/org/freedesktop/DBus', interface: name, member: 'ListNames' });
  console.log(body[0]);
} catch (err) {
  if (!DbusError.is(err)) throw err;
  console.log(`no system bus here: ${err.message}`);
}
bus.close();
