import type { ConsoleState } from '../../src/server/console/console-state.ts';

const response = await fetch('./console.json');
const { version } = (await response.json()) as ConsoleState;
document.title = `Gateway console ${version}`;
