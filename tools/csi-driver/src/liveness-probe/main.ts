import { exitOnSignal, runProgramMain } from '../program.ts';
import { DRIVER_VERSION } from '../services/identity.ts';
import { LivenessProbe } from './liveness-probe.ts';
import { type ProbeCommand, probeCommand, probeUsage } from './liveness-probe-options.ts';

/** Serves the liveness probe until a signal ends it. @returns the exit code of a command that ends by itself */
async function main(args: readonly string[]): Promise<number | undefined> {
  let command: ProbeCommand;
  try {
    command = probeCommand(args);
  } catch (error) {
    console.error(error instanceof Error ? error.message : String(error));
    return 2;
  }
  switch (command.do) {
    case 'help':
      console.log(probeUsage());
      return 0;
    case 'version':
      console.log(`csi-liveness-probe ${DRIVER_VERSION}`);
      return 0;
    case 'serve': {
      const probe = new LivenessProbe(command);
      exitOnSignal(() => probe.stop());
      await probe.start();
      return undefined;
    }
  }
}

await runProgramMain(main);
