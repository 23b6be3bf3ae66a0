// Loaded into a gateway before it starts: what a request says makes its work defective in ways that no code of the
// gateway can catch.
const { parse } = JSON;

JSON.parse = (text, reviver) => {
  if (typeof text === 'string') {
    if (text.includes('leave a promise')) void Promise.reject(new Error('left behind'));
    if (text.includes('throw outside')) {
      setImmediate(() => {
        throw new Error('thrown outside');
      });
    }
  }
  return parse(text, reviver);
};
