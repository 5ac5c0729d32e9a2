/* Calls mul at every size from 1 to 200. */
#include <stdio.h>
#include <stdlib.h>
void mul(int n, const float *a, const float *b, float *c);
int main(void){ for (int n=1;n<=200;n++) { float *a=malloc(n*n*4),*b=malloc(n*n*4),*c=calloc(n*n,4); for(int i=0;i<n*n;i++){a[i]=(float)(i*7%13)/3;b[i]=(float)(i*5%11)/7;} mul(n,a,b,c); unsigned h=0; for(int i=0;i<n*n;i++){unsigned u; __builtin_memcpy(&u,c+i,4); h=h*31+u;} printf("%d %08x\n",n,h); free(a);free(b);free(c);} }
