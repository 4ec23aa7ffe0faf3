#!/usr/bin/env -S node --max-semi-space-size=2
import { runKubelet } from './command.ts';

process.exitCode = await runKubelet(process.argv.slice(2));
