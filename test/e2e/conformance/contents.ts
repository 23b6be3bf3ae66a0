import type {
  AudioContent,
  EmbeddedResource,
  ImageContent,
  TextContent,
} from '@modelcontextprotocol/server';

/** A picture of one pixel, as base64. */
export const PNG =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==';
/** A sound without a sample, as base64. */
const WAV = 'UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAIA+AAACABAAZGF0YQAAAAA=';

/** The picture. */
export const image: ImageContent = { type: 'image', data: PNG, mimeType: 'image/png' };
/** The sound. */
export const audio: AudioContent = { type: 'audio', data: WAV, mimeType: 'audio/wav' };

/** A text. */
export const text = (value: string): TextContent => ({ type: 'text', text: value });

/** A resource as a part of a result. */
export const embedded = (uri: string, mimeType: string, value: string): EmbeddedResource => ({
  type: 'resource',
  resource: { uri, mimeType, text: value },
});
