// The main script of the single executable file.
import { start } from './start.ts';

start();
