// Colours of pictures; those of the page around them are in style.css.

export interface Theme {
  name: 'light' | 'dark';
  paper: string;
  ink: string;
  soft: string;
  grid: string;
  wall: string;
  flash: string;
  palette: string[];
}

const palette = ['#3b76b0', '#e8833a', '#4a9d5b', '#c8504b', '#8a6fb8', '#2a9d9a', '#d4a72c', '#9a6b4f', '#d277a8', '#7a8794'];
const paletteDark = ['#6ba6e0', '#f4a261', '#77c98a', '#ec7a74', '#b39ddb', '#5cc8c4', '#ecc94b', '#c69c82', '#f0a3c8', '#a9b4bf'];

export const light: Theme = {
  name: 'light',
  paper: '#ffffff',
  ink: '#1d2530',
  soft: '#7b8794',
  grid: '#eceff3',
  wall: '#9aa5b1',
  flash: '#d9480f',
  palette,
};

export const dark: Theme = {
  name: 'dark',
  paper: '#14181d',
  ink: '#e6eaef',
  soft: '#8d99a6',
  grid: '#222932',
  wall: '#5c6875',
  flash: '#ffb454',
  palette: paletteDark,
};

const trackInk = { light: '#44505c', dark: '#c3ccd5' };

// Colours of motions laid over each other, by what they are.
export function trackColour(theme: Theme, role: string, index: number): string {
  if (role === 'true' || role === 'before' || role === 'start') return trackInk[theme.name];
  if (role === 'predicted' || role === 'after') return theme.palette[1];
  return theme.palette[index % theme.palette.length];
}

// The colour for white paper of one that may be for the dark page.
export function onPaper(colour: string): string {
  const at = paletteDark.indexOf(colour);
  if (at >= 0) return palette[at];
  return colour === trackInk.dark ? trackInk.light : colour;
}
