// For `node --import`: on SIGUSR2, makes objects that live for a while, and then says what V8 has set aside for new ones.
import { getHeapSpaceStatistics } from 'node:v8';

process.on('SIGUSR2', () => {
  const alive = [];
  let turns = 0;
  const turn = () => {
    alive.push(Array.from({ length: 10_000 }, (_, number) => ({ number })));
    if (alive.length > 300) alive.shift();
    turns += 1;
    if (turns < 600) setImmediate(turn);
    else {
      const young = getHeapSpaceStatistics().find((space) => space.space_name === 'new_space');
      process.stdout.write(`young space ${young.space_size / 2 ** 20} MiB\n`);
    }
  };
  turn();
});
