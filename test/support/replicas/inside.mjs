// Loaded into a gateway before anything of its own, by `--import`, for what cannot be done from outside.
import { subscribe } from 'node:diagnostics_channel';

// The wall clock of one replica, as far off as its environment says.
const offset = Number(process.env['WALL_CLOCK_OFFSET_MS'] ?? 0);
if (offset !== 0) {
  const { now } = Date;
  const Real = Date;
  globalThis.Date = class extends Real {
    constructor(...given) {
      if (given.length === 0) super(now() + offset);
      else super(...given);
    }
    static now() {
      return now() + offset;
    }
  };
}

// After SIGUSR2 the process stops itself at the next request, when its last check is behind it and nothing
// has been written to the socket.
let armed = false;
process.on('SIGUSR2', () => {
  armed = true;
});
subscribe('undici:client:sendHeaders', () => {
  if (!armed) return;
  armed = false;
  process.kill(process.pid, 'SIGSTOP');
});
