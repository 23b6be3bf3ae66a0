/** The function of `@whatwg-node/promise-helpers` as it stands in the library. */
const FUNCTION = /function handleMaybePromise\([^]*?\n\}\n/;

/** What Yoga calls dozens of times for each operation. Thenables of any kind stay with the library. */
const DIRECT = `function handleMaybePromise(begin, use, useError, last) {
    if (last) return unfakePromise(fakePromise().then(begin).then(use, useError).finally(last));
    let value;
    let waits;
    try {
        value = begin(undefined);
        waits = isPromise(value);
    } catch (error) {
        if (!useError) throw error;
        return settled(useError(error));
    }
    return waits ? unfakePromise(fakePromise(value).then(use, useError)) : settled(use(value));
}
function settled(value) {
    return isPromise(value) ? unfakePromise(fakePromise(value)) : value;
}
`;

/**
 * Lets Yoga take a value that is there as it is. Its helper makes three objects that pass for promises of each, and
 * these were a fifth of the processor time of an operation that is answered from the cache: 290 microseconds without
 * them, 360 with. The library's next version does the same as this, and declares that it needs Node 22.15.
 */
export const directValues = {
  name: 'direct-values',
  transform(code, id) {
    if (!/@whatwg-node[/\\]promise-helpers[/\\].*\.js$/.test(id)) return null;
    if (!FUNCTION.test(code))
      throw new Error(`${id} has no handleMaybePromise as it was expected.`);
    return { code: code.replace(FUNCTION, () => DIRECT), map: null };
  },
};
