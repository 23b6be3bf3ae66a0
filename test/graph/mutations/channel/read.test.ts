import { describe, expect, it } from 'vitest';
import { ChannelStage, itemsPage, trade } from './channels.ts';

const stage = new ChannelStage();

describe('Query.channel', () => {
  it('reads of a channel nothing but its items when nothing else is selected', async () => {
    expect(await stage.costOfItems(trade)).toEqual([itemsPage(trade)]);
  });

  it('answers null for a channel that is not there, whatever is selected', async () => {
    expect(await stage.itemsOf(999_999)).toBeNull();
    expect(await stage.found(999_999)).toEqual([null, null, null]);
  });
});
