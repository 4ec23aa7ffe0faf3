import { consoleLogger } from '@node-agent/telemetry';
import { runProgramMain } from '../program.ts';
import { DRIVER_VERSION } from '../services/identity.ts';
import { Registrar } from './registrar.ts';
import { type RegistrarCommand, registrarCommand, registrarUsage } from './registrar-options.ts';

/** Runs the registrar until a signal ends it. @returns the exit code of a command that ends by itself */
async function main(args: readonly string[]): Promise<number | undefined> {
  let command: RegistrarCommand;
  try {
    command = registrarCommand(args);
  } catch (error) {
    console.error(error instanceof Error ? error.message : String(error));
    return 2;
  }
  switch (command.do) {
    case 'help':
      console.log(registrarUsage());
      return 0;
    case 'version':
      console.log(`csi-registrar ${DRIVER_VERSION}`);
      return 0;
    case 'register': {
      const logger = consoleLogger({ level: command.options.verbosity >= 2 ? 'info' : 'warn' });
      const stop = new AbortController();
      const end = (exitCode: number): void => {
        stop.abort();
        void registrar.stop().finally(() => process.exit(exitCode));
      };
      const registrar = new Registrar(command.options, logger, (error) => {
        console.error(`the kubelet refused the driver: ${error}`);
        end(1);
      });
      for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => end(0));
      await registrar.start(stop.signal);
      return undefined;
    }
  }
}

await runProgramMain(main);
