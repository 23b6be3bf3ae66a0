import { RootFieldBuilder, type SchemaTypes } from '@pothos/core';
// Whose way of doing it is replaced below.
import '@pothos/plugin-relay';
import { type AtOnce, andThen } from '../at-once.ts';
import { encodeGlobalId } from './global-id.ts';

/** What a resolver of a field of type `ID` gives: the type of an object, and the object's own id. */
interface Identified {
  readonly type: Parameters<
    RootFieldBuilder<SchemaTypes, unknown>['builder']['configStore']['getTypeConfig']
  >[0];
  readonly id: string | number | bigint;
}

/** The resolver and the options of such a field, as the library hands them over. */
interface GlobalIdOptions {
  readonly resolve: (...all: readonly unknown[]) => AtOnce<Identified | null | undefined>;
}

/**
 * Global ids as the library makes them, but at once where the id is known at once: its own way takes a
 * promise for every row of every answer.
 */
const atOnce = {
  globalID(
    this: RootFieldBuilder<SchemaTypes, unknown>,
    { resolve, ...options }: GlobalIdOptions,
  ): unknown {
    const { configStore } = this.builder;
    return this.field({
      ...options,
      type: 'ID',
      resolve: (...all: readonly unknown[]) =>
        andThen(resolve(...all), (item) => {
          if (!item) return null;
          return encodeGlobalId(configStore.getTypeConfig(item.type).name, item.id);
        }),
    } as never);
  },
};

Object.assign(RootFieldBuilder.prototype, atOnce);
