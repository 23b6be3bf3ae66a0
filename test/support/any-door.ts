import { Door } from '../../src/http/door/admission.ts';
import { createHostGuard } from '../../src/http/door/host-guard.ts';
import { Origins } from '../../src/http/door/origins.ts';

/** A door that admits all callers under all names, and pages of these origins. */
export function anyDoor(origins: readonly string[] = []): Door {
  return new Door({
    authenticate: () => ({ name: 'anyone', role: 'admin' }),
    hostGuard: createHostGuard('0.0.0.0', []),
    origins: new Origins(origins, { loopback: false, onRefused: () => {} }),
  });
}
