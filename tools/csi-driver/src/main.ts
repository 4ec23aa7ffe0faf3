import { consoleLogger } from '@node-agent/telemetry';
import { CsiDriver } from './driver.ts';
import { type DriverCommand, driverCommand, driverUsage } from './options/driver-options.ts';
import { exitOnSignal, runProgramMain } from './program.ts';
import { ProxyServer } from './proxy.ts';
import { DRIVER_VERSION } from './services/identity.ts';

/** Runs the driver until a signal ends it. @returns the exit code of a command that ends by itself */
async function main(args: readonly string[]): Promise<number | undefined> {
  let command: DriverCommand;
  try {
    command = driverCommand(args);
  } catch (error) {
    console.error(error instanceof Error ? error.message : String(error));
    return 2;
  }
  switch (command.do) {
    case 'help':
      console.log(driverUsage());
      return 0;
    case 'version':
      console.log(`csi-driver ${DRIVER_VERSION}`);
      return 0;
    case 'proxy': {
      const proxy = new ProxyServer(command);
      exitOnSignal(() => proxy.stop());
      await proxy.start();
      return undefined;
    }
    case 'serve': {
      const { verbosity, driverName, socketPath } = command.options;
      const level = verbosity >= 4 ? 'debug' : verbosity >= 2 ? 'warn' : 'error';
      const logger = consoleLogger({ level });
      const driver = new CsiDriver(command.options, logger);
      exitOnSignal(() => driver.stop());
      await driver.start();
      console.error(`driver ${driverName} listens on ${socketPath}`);
      return undefined;
    }
  }
}

await runProgramMain(main);
