// Runs before the first paint: the reader's colour scheme, if one was chosen. The switch is in client.tsx.
const chosen = localStorage.getItem('theme');
if (chosen === 'light' || chosen === 'dark') document.documentElement.dataset.theme = chosen;
document.documentElement.dataset.script = 'on';
